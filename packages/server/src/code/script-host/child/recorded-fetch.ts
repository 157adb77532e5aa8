/** The `fetch` of the code of a preview: the service records the request, nothing is sent, and the answer is 200 with an empty object. */
import type { ServiceClient } from "./service-client.ts";

/** Bytes of a body that are read. */
const maxBytes = 16 * 1024;

export async function recordFetch(calls: ServiceClient, request: Request): Promise<Response> {
  const { method, url } = request;
  await calls.call("preview.fetch", [method, url.slice(0, maxBytes), await beginOf(request.body)]);
  const response = Response.json({}, { headers: { "x-socle-preview": "recorded" } });
  return Object.defineProperty(response, "url", { value: url });
}

/** The begin of a body as text; null without a body. */
async function beginOf(body: Request["body"]): Promise<string | null> {
  if (body === null) return null;
  const decoder = new TextDecoder();
  let text = "";
  let left = maxBytes;
  for await (const piece of body) {
    const part = piece.subarray(0, left);
    text += decoder.decode(part, { stream: true });
    left -= part.byteLength;
    if (left === 0) break;
  }
  return text;
}
