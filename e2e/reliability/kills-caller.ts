/**
 * One user of a service: requests with the token, uploads, and uploads that break off. The kills and the soak use this caller.
 */
import { connect } from "node:net";
import { fileForm, formType } from "../../packages/server/test/forms.ts";

export const password = "correct horse";

export interface Reply<T> {
  readonly status: number;
  readonly body: T;
}

export interface Tokens {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly user: { readonly id: string };
}

/** An access token, and the address of the service at the moment: the port changes with a restart. */
export class Caller {
  readonly url: () => string;
  readonly token: string;

  constructor(url: () => string, token = "") {
    this.url = url;
    this.token = token;
  }

  /** The user of an address; the address is registered if necessary. */
  async as(email: string): Promise<Caller> {
    const known = await this.ask<Tokens>("POST", "/api/auth/login", { email, password });
    const made =
      known.status === 200 ? known : await this.ask<Tokens>("POST", "/api/auth/register", { email, password });
    if (made.status >= 300) throw new Error(`${email} cannot log in: ${made.status} ${JSON.stringify(made.body)}`);
    return new Caller(this.url, made.body.accessToken);
  }

  /** @throws Error when the connection breaks: then nothing was acknowledged. */
  async ask<T = unknown>(method: string, path: string, body?: object): Promise<Reply<T>> {
    const answer = await fetch(`${this.url()}${path}`, {
      method,
      headers: { ...this.headers, ...(body === undefined ? {} : { "Content-Type": "application/json" }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return { status: answer.status, body: (text === "" ? null : JSON.parse(text)) as T };
  }

  async upload(content: Uint8Array, filename = "file.bin"): Promise<Reply<{ id: string }>> {
    const answer = await fetch(`${this.url()}/api/storage/upload`, {
      method: "POST",
      headers: { ...this.headers, "Content-Type": formType },
      body: fileForm(content, { filename, visibility: "public" }),
    });
    return { status: answer.status, body: (await answer.json()) as { id: string } };
  }

  async download(id: string, query = ""): Promise<{ status: number; bytes: Uint8Array }> {
    const answer = await fetch(`${this.url()}/api/storage/${id}${query}`, { headers: this.headers });
    return { status: answer.status, bytes: await answer.bytes() };
  }

  /** Sends a part of an upload and hangs up. Resolves when the connection is closed, by whomever. */
  breakUpload(content: Uint8Array, part: number): Promise<void> {
    const { hostname, port } = new URL(this.url());
    const form = fileForm(content, { visibility: "public" });
    const { promise, resolve } = Promise.withResolvers<void>();
    const socket = connect(Number(port), hostname, () => {
      const head = [
        "POST /api/storage/upload HTTP/1.1",
        "Host: socle",
        `Authorization: Bearer ${this.token}`,
        `Content-Type: ${formType}`,
        `Content-Length: ${form.byteLength}`,
      ];
      socket.write(`${head.join("\r\n")}\r\n\r\n`);
      socket.write(form.subarray(0, Math.floor(form.byteLength * part)), () => socket.destroy());
    });
    socket.on("error", () => undefined);
    socket.on("close", () => resolve());
    return promise;
  }

  private get headers(): Record<string, string> {
    return this.token === "" ? {} : { Authorization: `Bearer ${this.token}` };
  }
}
