# A server for the tool, to try it: python3 server.py. Put your own in its place.
import http.server, json, urllib.parse


class Hello(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        q = urllib.parse.parse_qs(urllib.parse.urlparse(self.path).query)
        body = json.dumps({"text": q["greeting"][0] + ", " + q["who"][0] + "!"}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


http.server.HTTPServer(("127.0.0.1", 8077), Hello).serve_forever()
