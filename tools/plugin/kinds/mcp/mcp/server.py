# A server of the Model Context Protocol on stdin and stdout, a line for each message. It
# needs no library. When you change its tools, run simd mcp pin again.
import json, os, sys

TOOLS = [{
    "name": "hello",
    "description": "Greets somebody.",
    "inputSchema": {"type": "object", "properties": {"who": {"type": "string", "minLength": 1, "maxLength": 80}}, "required": ["who"]},
}]


def answer(method, params):
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "NAME", "version": "0.1.0"}}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call" and params["name"] == "hello":
        text = os.environ["SIMD_CONFIG_GREETING"] + ", " + params["arguments"]["who"] + "!"
        return {"content": [{"type": "text", "text": text}]}
    if method == "ping":
        return {}
    return None


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue  # a notification
    result = answer(message["method"], message.get("params") or {})
    reply = {"jsonrpc": "2.0", "id": message["id"]}
    if result is None:
        reply["error"] = {"code": -32601, "message": "there is no such method"}
    else:
        reply["result"] = result
    print(json.dumps(reply), flush=True)
