"""A service that keeps one document, and refuses writes of earlier holders: PUT with `Fencing-Token`."""

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock


class Ledger(BaseHTTPRequestHandler):
    lock, token, entry = Lock(), 0, b""

    def do_PUT(self):
        entry = self.rfile.read(int(self.headers["Content-Length"]))
        token = self.headers.get("Fencing-Token", "")
        if not (token.isascii() and token.isdecimal()):
            return self.answer(428, b"Fencing-Token is missing\n")
        with Ledger.lock:  # One step: what is compared is what is replaced.
            if int(token) < Ledger.token:
                return self.answer(412, f"a later holder has written: {Ledger.token}\n".encode())
            Ledger.token, Ledger.entry = int(token), entry
        self.answer(200, b"")

    def do_GET(self):
        self.answer(200, Ledger.entry)

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Ledger)
    print(server.server_port, flush=True)
    server.serve_forever()
