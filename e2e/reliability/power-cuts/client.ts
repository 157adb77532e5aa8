/** The requests of the clients of a power-cut run; an unexpected answer is an error. */
import { fileForm, formType } from "../../../packages/server/test/forms.ts";
import { post } from "../../kit.ts";

export class Client {
  readonly #url: string;
  readonly #token: string | null;

  constructor(url: string, token: string | null = null) {
    this.#url = url;
    this.#token = token;
  }

  /** The same service as another user. */
  as(token: string): Client {
    return new Client(this.#url, token);
  }

  get #headers(): Record<string, string> {
    return this.#token === null ? {} : { Authorization: `Bearer ${this.#token}` };
  }

  async status(path: string): Promise<number> {
    const answer = await fetch(this.#url + path, { headers: this.#headers });
    await answer.bytes();
    return answer.status;
  }

  /** The bytes of an answer, or null when the name is unknown. */
  async bytes(path: string): Promise<Uint8Array | null> {
    const answer = await fetch(this.#url + path, { headers: this.#headers });
    const bytes = await answer.bytes();
    if (answer.status === 404) return null;
    if (answer.status !== 200) throw new Error(`GET ${path}: ${answer.status} ${Buffer.from(bytes)}`);
    return bytes;
  }

  async get(path: string): Promise<object> {
    return this.#answer(`GET ${path}`, await fetch(this.#url + path, { headers: this.#headers }));
  }

  async post(path: string, body: object = {}): Promise<object> {
    return this.#answer(`POST ${path}`, await post(this.#url + path, body, this.#headers));
  }

  async put(path: string, body: object): Promise<object> {
    const headers = { "Content-Type": "application/json", ...this.#headers };
    const answer = await fetch(this.#url + path, { method: "PUT", headers, body: JSON.stringify(body) });
    return this.#answer(`PUT ${path}`, answer);
  }

  async delete(path: string): Promise<void> {
    await this.#answer(`DELETE ${path}`, await fetch(this.#url + path, { method: "DELETE", headers: this.#headers }));
  }

  async upload(content: Uint8Array): Promise<object> {
    const headers = { ...this.#headers, "Content-Type": formType };
    const body = fileForm(content, { filename: "file.bin", visibility: "public" });
    return this.#answer("upload", await fetch(`${this.#url}/api/storage/upload`, { method: "POST", headers, body }));
  }

  async #answer(what: string, answer: Response): Promise<object> {
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${what}: ${answer.status} ${text}`);
    return text === "" ? {} : (JSON.parse(text) as object);
  }
}

/** A text of an answer's member. */
export function textOf(answer: object, name: string): string {
  const value: unknown = Reflect.get(answer, name);
  if (typeof value !== "string") throw new Error(`${name} is missing in ${JSON.stringify(answer)}`);
  return value;
}

/** The members of an answer that is a list. */
export function itemsOf(answer: object): object[] {
  const items: unknown = Reflect.get(answer, "items");
  if (!Array.isArray(items)) throw new Error(`This is no list: ${JSON.stringify(answer)}`);
  return items.filter((item): item is object => typeof item === "object" && item !== null);
}
