/** The `fetch` of the user's code in a service under test: requests for some origins go to the test, which answers. */
import { type FetchMocks, mockRefusalHeader, mockTokenHeader, mockUrlHeader } from "@socle/protocol";
import { fetchMocks } from "../fetch-mocks.ts";

const { fetch: runtimeFetch } = globalThis;

/** `fetch` of the runtime, but for requests that a test answers. */
export function mockableFetch(input: string | URL | Request, init?: BunFetchRequestInit): Promise<Response> {
  const mocks = fetchMocks();
  if (mocks === null) return runtimeFetch(input, init);
  const origin = URL.parse(input instanceof Request ? input.url : String(input))?.origin ?? "";
  if (!mocks.origins.includes(origin)) return runtimeFetch(input, init);
  return askTest(requestFor(input, init), mocks);
}

/** The request that the arguments of `fetch` stand for. */
export function requestFor(input: string | URL | Request, init?: BunFetchRequestInit): Request {
  return input instanceof Request ? new Request(input, init) : new Request(String(input), init);
}

/** @throws TypeError when no handler of the test answers, or the handler answers a redirect that `fetch` would follow. */
async function askTest(request: Request, { address, token }: FetchMocks): Promise<Response> {
  const { method, url, signal, redirect } = request;
  const headers = new Headers(request.headers);
  headers.set(mockUrlHeader, url);
  headers.set(mockTokenHeader, token);
  const body = request.body === null ? null : await request.bytes();
  const response = await runtimeFetch(address, { method, headers, body, signal, redirect: "manual" });
  const refusal = response.headers.get(mockRefusalHeader);
  if (refusal !== null) throw new TypeError(decodeURIComponent(refusal));
  const isRedirect = response.headers.has("location") && response.status >= 300 && response.status < 400;
  if (isRedirect && redirect !== "manual")
    throw new TypeError(
      `service.fetch answered ${method} ${url} with a redirect: answer the response of the last address`,
    );
  Object.defineProperty(response, "url", { value: url });
  return response;
}
