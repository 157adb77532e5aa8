/**
 * `service.fetch` of `socle/test`: handlers in the test answer the `fetch` of the code under test. The processes of the code send the
 * requests for the origins of the handlers to a server of the test process.
 */
import { afterEach, beforeEach } from "bun:test";
import { type FetchMocks, mockRefusalHeader, mockTokenHeader, mockUrlHeader } from "@socle/protocol";

type FetchHandler = (request: Request) => Response | Promise<Response>;

interface Mock {
  readonly url: URL;
  readonly handler: FetchHandler;
  readonly isOfTest: boolean;
}

export class TestFetch {
  /** The newest first. */
  #mocks: Mock[] = [];
  /** Origins that had a handler: no request for such an origin reaches the network. */
  readonly #origins = new Set<string>();
  readonly #token = crypto.randomUUID();
  /** Tells the service where requests for the origins go from now on. */
  readonly #announce: (mocks: FetchMocks) => Promise<unknown>;
  #server: Bun.Server<undefined> | null = null;
  #isInTest = false;

  constructor(announce: (mocks: FetchMocks) => Promise<unknown>) {
    this.#announce = announce;
    beforeEach(() => {
      this.#isInTest = true;
    });
    afterEach(() => {
      this.#isInTest = false;
      this.#mocks = this.#mocks.filter(({ isOfTest }) => !isOfTest);
    });
  }

  /** See `TestService` in `packages/server/src/code/script-host/test-types.txt`. */
  async answer(text: string, handler: FetchHandler): Promise<void> {
    const url = URL.parse(text);
    if (url === null || !/^https?:$/.test(url.protocol))
      throw new TypeError(`service.fetch: "${text}" is no address such as https://mail.example.com/send`);
    if (typeof handler !== "function") throw new TypeError("service.fetch needs a handler, which answers a Response");
    this.#server ??= Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      // The code under test decides how long to wait.
      idleTimeout: 0,
      fetch: (request) => this.#respond(request),
    });
    this.#mocks.unshift({ url, handler, isOfTest: this.#isInTest });
    if (this.#origins.has(url.origin)) return;
    this.#origins.add(url.origin);
    await this.#announce({ address: this.#server.url.href, token: this.#token, origins: [...this.#origins] });
  }

  stop(): void {
    void this.#server?.stop(true);
  }

  async #respond(sent: Request): Promise<Response> {
    if (sent.headers.get(mockTokenHeader) !== this.#token) return new Response(null, { status: 401 });
    const url = new URL(sent.headers.get(mockUrlHeader) ?? "");
    const headers = new Headers(sent.headers);
    for (const name of [mockTokenHeader, mockUrlHeader, "host"]) headers.delete(name);
    const { method, body } = sent;
    const mock = this.#mocks.find((each) => each.url.origin === url.origin && pathOf(url).startsWith(pathOf(each.url)));
    if (mock === undefined) return refusal(`No handler of service.fetch takes ${method} ${url}`);
    try {
      const answer: unknown = await mock.handler(new Request(url.href, { method, headers, body }));
      if (answer instanceof Response) return answer;
      throw new TypeError("The handler did not answer a Response");
    } catch (thrown) {
      // The code under test may catch the refusal; the error is the test's.
      console.error(thrown);
      return refusal(`The handler of service.fetch for ${mock.url} failed: ${String(thrown)}`);
    }
  }
}

function pathOf({ pathname, search }: URL): string {
  return pathname + search;
}

/** The `fetch` of the code rejects. */
function refusal(message: string): Response {
  return new Response(null, { headers: { [mockRefusalHeader]: encodeURIComponent(message) } });
}
