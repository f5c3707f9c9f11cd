"""A stand-in for the conditional puts of S3: `If-Match`, `If-None-Match: *`, `ETag`. No more."""

from hashlib import md5
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock


class Bucket(BaseHTTPRequestHandler):
    lock, objects = Lock(), {}

    def do_PUT(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with Bucket.lock:
            held = Bucket.objects.get(self.path)
            wanted = self.headers.get("If-Match")
            is_wanted = wanted is None or (held is not None and held[0] == wanted)
            if not is_wanted or (self.headers.get("If-None-Match") == "*" and held is not None):
                return self.answer(412, {}, b"")
            # As S3's, an ETag is of the content alone.
            Bucket.objects[self.path] = ('"' + md5(body).hexdigest() + '"', body)
        self.answer(200, {}, b"")

    def do_GET(self):
        held = Bucket.objects.get(self.path)
        if held is None:
            return self.answer(404, {}, b"")
        self.answer(200, {"ETag": held[0]}, held[1])

    def answer(self, status, headers, body):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Bucket)
    print(server.server_port, flush=True)
    server.serve_forever()
