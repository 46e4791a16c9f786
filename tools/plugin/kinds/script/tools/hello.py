# Reads the parameters, one JSON object, and prints the output. Options of the plugin are
# in the environment.
import json, os, sys

who = json.load(sys.stdin)["who"]
print(json.dumps({"text": os.environ["SIMD_CONFIG_GREETING"] + ", " + who + "!"}))
