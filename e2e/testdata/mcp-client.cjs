// A client of the npm package @modelcontextprotocol/sdk: node mcp-client.cjs NODE_MODULES stdio PROGRAM ARG...
// or node mcp-client.cjs NODE_MODULES http URL TOKEN. It prints a line of JSON for each answer.
const [modules, transport, ...rest] = process.argv.slice(2);
const sdk = (file) => require(`${modules}/@modelcontextprotocol/sdk/dist/cjs/client/${file}`);
const { Client } = sdk("index.js");
const { StdioClientTransport } = sdk("stdio.js");
const { StreamableHTTPClientTransport } = sdk("streamableHttp.js");

const show = (name, value) => console.log(JSON.stringify({ [name]: value }));

(async () => {
  const client = new Client({ name: "foreign", version: "1" });
  await client.connect(transport === "stdio"
    ? new StdioClientTransport({ command: rest[0], args: rest.slice(1), stderr: "ignore" })
    : new StreamableHTTPClientTransport(new URL(rest[0]), { requestInit: { headers: { Authorization: `Bearer ${rest[1]}` } } }));
  show("tools", (await client.listTools()).tools.map((t) => t.name).sort());
  const call = async (name, args) => {
    const r = await client.callTool({ name, arguments: args });
    show(name, r.isError ? { error: r.content[0].text } : r.structuredContent);
    return r.structuredContent;
  };
  await call("simd_validate", {});
  await call("simd_run", { agents: 0 });
  const { run } = await call("simd_run", { scene: "quay", ticks: 5 });
  await call("simd_run_status", { run, wait_seconds: 30 });
  await call("simd_inspect", { run, view: "agents", limit: 1 });
  await call("weather_wind_b844b5", { latitude: 52, longitude: 4 });
  show("resources", (await client.listResources()).resources.length);
  show("summary", JSON.parse((await client.readResource({ uri: `simd://runs/${run}/summary` })).contents[0].text).ended);
  const { run: long } = await call("simd_run", { scene: "always" });
  const enough = new AbortController();
  const waiting = client.callTool({ name: "simd_run_status", arguments: { run: long, wait_seconds: 60 } }, undefined, { signal: enough.signal });
  enough.abort();
  await waiting.then(() => show("cancelled", false), () => show("cancelled", true));
  await call("simd_run_stop", { run: long });
  await call("simd_run_stop", { run });
  await client.close();
})().catch((e) => { console.log(JSON.stringify({ failed: String(e) })); process.exit(1); });
