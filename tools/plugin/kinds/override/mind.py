# A service in the place of models: it gets what would have gone to a model, a line for each
# request, and says what the model would have said. What it prints to stdout is the protocol;
# write to sys.stderr what is for people.
import json, sys

greeting = ""

def complete(p):
    # p["messages"] is the conversation, p["tools"] what may be called: {"calls": [{"tool": "id", "params": {}}]}
    return {"text": greeting + ", I am " + p["agent"] + "!", "usage": {"input": 100, "output": 10}}

for line in sys.stdin:
    q = json.loads(line)
    result = {}  # of ping, shutdown, $/cancel
    if q["method"] == "initialize":
        greeting = q["params"]["config"]["greeting"]  # options of the plugin
        result = {"protocol": 1}
    elif q["method"] == "model/complete":
        result = complete(q["params"])
    if "id" in q:
        print(json.dumps({"jsonrpc": "2.0", "id": q["id"], "result": result}), flush=True)
    if q["method"] == "shutdown":
        break
