/**
 * Proxy in front of the instances of a cluster, as a process: `cluster-proxy.ts PORT TARGET…` prints the port that the proxy listens on. Each
 * request goes to the next instance, with the highest `Socle-Position` that an answer had, so that a test reads its own writes. The bytes of
 * requests and answers stay as they are otherwise. Bytes that are not plainly requests, such as TLS, the frames of a WebSocket or the pieces of a
 * slow request, go to the instance of the connection unread.
 */
import { connect, createServer, type Socket } from "node:net";

const [wanted = "0", ...targets] = Bun.argv.slice(2);
/** The places of the instances that accept connections. */
const living = [...targets.keys()];
let turn = 0;
/** The highest position that an answer had. */
let highest = 0;

/** The bytes of the connection that come next from the client. */
type Expected = "head" | "unread" | "chunks" | { readonly body: number };

class Connection {
  readonly #client: Socket;
  /** The bytes of the request that an instance has not answered yet, as far as another instance may get the request. */
  #unanswered: Buffer[] = [];
  #isRead = false;
  /** How often another instance got the request. */
  #moves = 0;
  /** The connection to each instance that has had a request of this connection. */
  readonly #servers = new Map<number, Socket>();
  #server: Socket;
  #expected: Expected = "head";
  #isAnswered = true;
  /** The head of the answer so far: an instance may send a head in several packets. */
  #answer = "";
  #requests = 0;

  constructor(client: Socket) {
    this.#client = client;
    this.#server = this.#next();
    client.on("data", (bytes: Buffer) => this.#take(bytes));
    client.on("end", () => {
      for (const server of this.#servers.values()) server.end();
    });
    // "close" follows.
    client.on("error", () => client.destroy());
    client.on("close", () => {
      for (const server of this.#servers.values()) server.destroy();
    });
  }

  /** The connection to the next instance. */
  #next(): Socket {
    const index = living[turn++ % living.length] ?? 0;
    const known = this.#servers.get(index);
    if (known !== undefined) return known;
    const client = this.#client;
    const server = connect({
      port: Number(targets[index]),
      host: "127.0.0.1",
      // The instance sees the address of the client.
      ...(client.remoteFamily === "IPv4" && { localAddress: client.remoteAddress ?? "127.0.0.1" }),
      allowHalfOpen: true,
    });
    server.setNoDelay(true);
    this.#servers.set(index, server);
    server.on("data", (bytes: Buffer) => {
      this.#noteAnswer(bytes);
      if (!client.write(bytes)) {
        server.pause();
        client.once("drain", () => server.resume());
      }
    });
    server.on("end", () => {
      if (server === this.#server) client.end();
      else {
        // The next request to this instance gets a new connection.
        this.#servers.delete(index);
        server.end();
      }
    });
    let isRefused = false;
    server.on("error", (error: NodeJS.ErrnoException) => {
      isRefused = error.code === "ECONNREFUSED";
      server.destroy();
    });
    server.on("close", () => {
      if (this.#servers.get(index) === server) this.#servers.delete(index);
      if (isRefused && living.includes(index)) living.splice(living.indexOf(index), 1);
      // An instance that has stopped: another instance gets a request that did not arrive, or that only reads, as by a balancer.
      const isUnanswered = !this.#isAnswered && this.#answer === "";
      const canMove = isRefused || (this.#isRead && isUnanswered && this.#moves++ < targets.length);
      if (canMove && server === this.#server && living.length > 0 && !client.destroyed) {
        const bytes = this.#unanswered;
        this.#unanswered = [];
        this.#server = this.#next();
        for (const part of bytes) this.#send(part);
        return;
      }
      if (server === this.#server) client.destroySoon();
    });
    return server;
  }

  #noteAnswer(bytes: Buffer): void {
    if (this.#isAnswered) return;
    this.#unanswered = [];
    this.#answer += bytes.toString("latin1");
    const end = this.#answer.indexOf("\r\n\r\n");
    if (end < 0) return;
    this.#isAnswered = true;
    const position = /\r\nsocle-position: (\d+)\r\n/i.exec(this.#answer.slice(0, end + 2))?.[1];
    highest = Math.max(highest, Number(position ?? 0));
  }

  #take(given: Buffer): void {
    let bytes = given;
    while (bytes.length > 0) {
      const expected = this.#expected;
      if (expected === "head") bytes = this.#takeHead(bytes);
      else if (typeof expected === "object") {
        const body = bytes.subarray(0, expected.body);
        this.#expected = body.length === expected.body ? "head" : { body: expected.body - body.length };
        this.#send(body);
        bytes = bytes.subarray(body.length);
      } else {
        // The end of a chunked body is the end of a packet: no client of the tests sends a request before the answer to the last request.
        if (expected === "chunks" && bytes.toString("latin1").endsWith("0\r\n\r\n")) this.#expected = "head";
        this.#send(bytes);
        return;
      }
    }
  }

  /** Sends a head on. Answers the bytes after the head. */
  #takeHead(bytes: Buffer): Buffer {
    const text = bytes.toString("latin1");
    const end = text.indexOf("\r\n\r\n");
    const line = /^[A-Z]+ [!-~]+ HTTP\/1\.1\r\n/.exec(text)?.[0];
    if (end < 0 || line === undefined) {
      this.#expected = "unread";
      return bytes;
    }
    const head = text.slice(0, end + 2);
    // A request before the answer to the last request stays at the instance, which answers in order.
    if (this.#isAnswered && this.#requests++ > 0) this.#server = this.#next();
    this.#isAnswered = false;
    this.#answer = "";
    this.#expected = expectedAfter(head);
    this.#isRead = line.startsWith("GET ") && this.#expected === "head";
    this.#unanswered = [];
    this.#moves = 0;
    this.#send(Buffer.from(`${withPosition(head, line)}\r\n`, "latin1"));
    return bytes.subarray(end + 4);
  }

  #send(bytes: Buffer): void {
    const { client, server } = { client: this.#client, server: this.#server };
    if (server.connecting || this.#isRead) this.#unanswered.push(bytes);
    if (!server.write(bytes)) {
      client.pause();
      server.once("drain", () => client.resume());
      server.once("close", () => client.resume());
    }
  }
}

function withPosition(head: string, line: string): string {
  const own = Number(/\r\nsocle-position: (\d+)(?=\r\n)/i.exec(head)?.[1] ?? 0);
  if (highest <= own) return head;
  const without = head.replace(/\r\nsocle-position: \d+(?=\r\n)/i, "");
  return `${line}Socle-Position: ${highest}\r\n${without.slice(line.length)}`;
}

function expectedAfter(head: string): Expected {
  if (/\r\nupgrade:/i.test(head)) return "unread";
  if (/\r\ntransfer-encoding:/i.test(head)) return "chunks";
  const body = Number(/\r\ncontent-length: *(\d+) *\r\n/i.exec(head)?.[1] ?? 0);
  return body > 0 ? { body } : "head";
}

const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => void new Connection(client));
server.listen(Number(wanted), () => {
  const address = server.address();
  console.log(typeof address === "object" && address !== null ? address.port : "");
});
// The end of the test process ends the proxy.
process.stdin.on("end", () => process.exit(0)).resume();
