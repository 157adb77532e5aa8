// Runs s3rver with Node.js, the runtime of s3rver. Arguments: a folder and a bucket; prints its address.
// s3rver ignores `If-None-Match: *`, and keeps the part of an object whose client has gone. Here, as in current stores, a put with the header takes the whole
// body first, and is refused when the object is there.
import { createServer, request as send } from "node:http";
import S3rver from "s3rver";

const [, , directory, bucket] = process.argv;
const s3 = new S3rver({ silent: true, directory, configureBuckets: [{ name: bucket, configs: [] }] });
await s3.configureBuckets();
const handle = s3.callback();
/** Paths of puts with the condition that are under way. */
const underWay = new Set();

/** The answer of s3rver to a request with a body that is whole; without a body, to a HEAD. */
async function ask({ method, url, headers }, body) {
  const { port } = inner.address();
  return new Promise((resolve, reject) => {
    const asked = send({ host: "127.0.0.1", port, method, path: url, headers }, resolve);
    asked.on("error", reject);
    asked.end(body);
  });
}

function refuse(response, status, code) {
  response.writeHead(status, { "Content-Type": "application/xml" });
  response.end(`<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code></Error>`);
}

async function create(request, response) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const [path] = request.url.split("?");
  if (underWay.has(path)) return refuse(response, 409, "ConditionalRequestConflict");
  underWay.add(path);
  try {
    // A request without keys: s3rver then looks at no signature.
    const found = await ask({ method: "HEAD", url: path, headers: {} });
    found.resume();
    if (found.statusCode === 200) return refuse(response, 412, "PreconditionFailed");
    const answer = await ask(request, Buffer.concat(chunks));
    response.writeHead(answer.statusCode, answer.headers);
    answer.pipe(response);
  } finally {
    underWay.delete(path);
  }
}

const inner = createServer(handle);
const server = createServer((request, response) => {
  if (request.method !== "PUT" || request.headers["if-none-match"] !== "*") return handle(request, response);
  // A client that has gone has no answer.
  create(request, response).catch(() => response.destroy());
});
inner.listen(0, "127.0.0.1", () =>
  server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`)),
);
