# A service: it is started once for each scene and answers requests, a line for each. What it
# prints to stdout is the protocol; write to sys.stderr what is for people.
import json, sys

greeting, greeted = "", 0

for line in sys.stdin:
    q = json.loads(line)
    result = {}  # of ping, shutdown, $/cancel
    if q["method"] == "initialize":
        greeting = q["params"]["config"]["greeting"]  # options of the plugin
        result = {"protocol": 1}
    elif q["method"] == "tool/call":
        greeted += 1  # it is there at the next call
        result = {"output": {"text": greeting + ", " + q["params"]["params"]["who"] + "!", "greeted": greeted}}
    if "id" in q:
        print(json.dumps({"jsonrpc": "2.0", "id": q["id"], "result": result}), flush=True)
    if q["method"] == "shutdown":
        break
