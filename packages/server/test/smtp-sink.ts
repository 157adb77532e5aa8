/**
 * An SMTP server for tests, on the loopback address: takes mails, or refuses, hangs or breaks at a step of the protocol. With a
 * certificate, the server speaks TLS from the beginning, or after STARTTLS.
 */
import { connect as connectTo, createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";

/** A step of the protocol: the connection, a command, or the whole message after DATA. */
export type SmtpStep = "connect" | "ehlo" | "starttls" | "auth" | "mail" | "rcpt" | "data" | "message";

/**
 * The behaviour of the server at a step: a reply in place of the usual reply; silence for ever; or the end of the connection, in
 * place of the reply or after the usual reply. A message counts as taken with the reply 250, and with `lost`: the server has
 * taken the message, and the connection breaks before the reply.
 */
type SmtpAnswer = string | "hang" | "break" | "lost" | "leave";

/** A message as the server got the message. */
interface SinkMail {
  readonly from: string;
  readonly to: string;
  /** Headers and body. */
  readonly data: string;
  readonly isEncrypted: boolean;
  readonly user: string | null;
}

interface SinkOptions {
  readonly port?: number;
  /** PEM; without a certificate, the server speaks no TLS. */
  readonly certificate?: { readonly cert: string; readonly key: string };
  /** TLS from the beginning, not by STARTTLS. */
  readonly isSecure?: boolean;
  /** Asks for this sign-in. */
  readonly login?: { readonly user: string; readonly password: string };
}

export class SmtpSink implements AsyncDisposable {
  /** Messages that were taken, in order. */
  readonly taken: SinkMail[] = [];
  /** Commands of all connections, in order. */
  readonly commands: string[] = [];
  connections = 0;
  /** Sessions that are open. */
  open = 0;
  /** Decides at each step; undefined for the usual reply. `text` is the command, or the message. */
  behave: (step: SmtpStep, text: string) => SmtpAnswer | undefined = () => undefined;
  readonly #options: SinkOptions;
  readonly #server: Server;
  readonly #inner: Server | null;
  readonly #sockets = new Set<Socket>();

  private constructor(options: SinkOptions) {
    this.#options = options;
    const { certificate } = options;
    const serve = (isEncrypted: boolean) => (socket: Socket) => this.#serve(socket, isEncrypted);
    this.#inner = certificate === undefined ? null : createTlsServer(certificate, serve(true));
    this.#server = createServer((socket) => {
      this.connections += 1;
      if (options.isSecure) this.#encrypt(socket);
      else this.#serve(socket, false);
    });
  }

  static async start(options: SinkOptions = {}): Promise<SmtpSink> {
    const sink = new SmtpSink(options);
    if (sink.#inner !== null) await listen(sink.#inner, 0);
    await listen(sink.#server, options.port ?? 0);
    return sink;
  }

  get port(): number {
    return portOf(this.#server);
  }

  get address(): string {
    const { login, isSecure } = this.#options;
    const user = login === undefined ? "" : `${encodeURIComponent(login.user)}:${encodeURIComponent(login.password)}@`;
    return `${isSecure ? "smtps" : "smtp"}://${user}127.0.0.1:${this.port}`;
  }

  /** Resolves when the condition holds. */
  async until(condition: (sink: SmtpSink) => boolean): Promise<void> {
    while (!condition(this)) await Bun.sleep(2);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all([this.#server, this.#inner].map((server) => server && new Promise((done) => server.close(done))));
  }

  /** Passes the bytes of a socket through the TLS server. */
  #encrypt(socket: Socket): void {
    if (this.#inner === null) throw new Error("The sink has no certificate");
    const inner = connectTo(portOf(this.#inner), "127.0.0.1");
    this.#keep(socket);
    this.#keep(inner);
    socket.pipe(inner).pipe(socket);
    socket.on("close", () => inner.destroy());
    inner.on("close", () => socket.destroy());
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => this.#sockets.delete(socket));
  }

  #serve(socket: Socket, isEncrypted: boolean): void {
    this.#keep(socket);
    this.open += 1;
    socket.on("close", () => {
      this.open -= 1;
    });
    const session = new Session(this, socket, { ...this.#options, isEncrypted, hasStartTls: this.#inner !== null });
    session.upgrade = () => {
      socket.removeAllListeners("data");
      this.#encrypt(socket);
    };
  }
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve) => server.listen(port, "127.0.0.1", () => resolve()));
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The sink does not listen");
  return address.port;
}

/** A connection, read line by line. */
class Session {
  upgrade: () => void = () => undefined;
  readonly #sink: SmtpSink;
  readonly #socket: Socket;
  readonly #options: SinkOptions & { readonly isEncrypted: boolean; readonly hasStartTls: boolean };
  #input = "";
  #isData = false;
  #isSilent = false;
  #from = "";
  #to = "";
  #user: string | null = null;

  constructor(sink: SmtpSink, socket: Socket, options: SinkOptions & { isEncrypted: boolean; hasStartTls: boolean }) {
    this.#sink = sink;
    this.#socket = socket;
    this.#options = options;
    socket.on("data", (bytes: Buffer) => this.#read(bytes.toString("latin1")));
    // After STARTTLS the client begins again without a greeting.
    if (!options.isEncrypted || options.isSecure) this.#answer("connect", "", "220 sink.example ESMTP");
  }

  #read(text: string): void {
    this.#input += text;
    while (!this.#isSilent) {
      const mark = this.#isData ? "\r\n.\r\n" : "\r\n";
      const at = this.#input.indexOf(mark);
      if (at < 0) return;
      const piece = this.#input.slice(0, at);
      this.#input = this.#input.slice(at + mark.length);
      if (this.#isData) this.#takeMessage(piece);
      else this.#takeCommand(piece);
    }
  }

  #takeCommand(line: string): void {
    this.#sink.commands.push(line);
    const [word = ""] = line.toUpperCase().split(" ");
    const { login, hasStartTls, isEncrypted } = this.#options;
    if (word === "EHLO") {
      const extensions = ["8BITMIME", "SMTPUTF8"];
      if (hasStartTls && !isEncrypted) extensions.push("STARTTLS");
      if (login !== undefined) extensions.push("AUTH PLAIN");
      const lines = ["sink.example", ...extensions].map(
        (each, i, all) => `250${i < all.length - 1 ? "-" : " "}${each}`,
      );
      this.#answer("ehlo", line, lines.join("\r\n"));
    } else if (word === "STARTTLS" && hasStartTls) {
      if (this.#answer("starttls", line, "220 go ahead")) this.upgrade();
    } else if (word === "AUTH") {
      const [, user = "", password = ""] = Buffer.from(line.split(" ")[2] ?? "", "base64")
        .toString()
        .split("\0");
      const isRight = user === login?.user && password === login.password;
      if (this.#answer("auth", line, isRight ? "235 welcome" : "535 5.7.8 wrong password") && isRight)
        this.#user = user;
    } else if (word === "MAIL") {
      this.#from = addressIn(line);
      this.#answer("mail", line, login !== undefined && this.#user === null ? "530 sign in first" : "250 ok");
    } else if (word === "RCPT") {
      this.#to = addressIn(line);
      this.#answer("rcpt", line, "250 ok");
    } else if (word === "DATA") this.#isData = this.#answer("data", line, "354 go on");
    else if (word === "QUIT") this.#socket.end("221 bye\r\n");
    else this.#socket.write(word === "RSET" || word === "NOOP" ? "250 ok\r\n" : "502 no\r\n");
  }

  #takeMessage(data: string): void {
    this.#isData = false;
    const { isEncrypted } = this.#options;
    const mail = {
      from: this.#from,
      to: this.#to,
      data: data.replaceAll("\r\n..", "\r\n."),
      isEncrypted,
      user: this.#user,
    };
    const given = this.#sink.behave("message", data);
    if (given === undefined || given === "lost" || given === "leave" || given.startsWith("250"))
      this.#sink.taken.push(mail);
    this.#do(given, "250 taken");
  }

  /** Answers whether the usual reply was given. */
  #answer(step: SmtpStep, text: string, usual: string): boolean {
    return this.#do(this.#sink.behave(step, text), usual);
  }

  #do(given: SmtpAnswer | undefined, usual: string): boolean {
    if (given === "break" || given === "lost") this.#socket.destroy();
    else if (given === "leave") this.#socket.end(`${usual}\r\n`);
    else if (given !== "hang") this.#socket.write(`${given ?? usual}\r\n`);
    this.#isSilent = given === "hang" || given === "break" || given === "lost" || given === "leave";
    return given === undefined;
  }
}

function addressIn(line: string): string {
  return /<([^>]*)>/.exec(Buffer.from(line, "latin1").toString())?.[1] ?? "";
}

/** A header of a message, unfolded; null without the header. */
export function headerOf({ data }: SinkMail, name: string): string | null {
  const head = (data.split("\r\n\r\n")[0] ?? "").replaceAll(/\r\n[ \t]+/g, " ");
  const lines = head.split("\r\n").filter((line) => line.toLowerCase().startsWith(`${name.toLowerCase()}:`));
  if (lines.length > 1) throw new Error(`The message has ${lines.length} headers ${name}`);
  return lines[0]?.slice(name.length + 1).trim() ?? null;
}

/** The decoded text of a message, or the decoded HTML. */
export function bodyOf(mail: SinkMail, type: "text/plain" | "text/html" = "text/plain"): string {
  // A token may have "--" at the begin of a line: the head names the boundary.
  const [, boundary = "none"] = /^content-type: multipart\/[^;]+;\s*boundary="?([^"\r\n;]+)/im.exec(mail.data) ?? [];
  const parts = mail.data.split(`\r\n--${boundary}`);
  const part = parts.find((each) => new RegExp(`content-type: ${type}`, "i").test(each)) ?? "";
  const body = part.slice(part.indexOf("\r\n\r\n") + 4);
  if (/content-transfer-encoding: base64/i.test(part)) return Buffer.from(body, "base64").toString();
  const bytes = /content-transfer-encoding: quoted-printable/i.test(part)
    ? body
        .replaceAll("=\r\n", "")
        .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    : body;
  return Buffer.from(bytes, "latin1").toString().replaceAll("\r\n", "\n");
}
