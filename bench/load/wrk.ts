/** Load generator wrk, on machines with wrk: one thread, with the requests in a Lua script. */
import { type Load, type LoadResult, toWire } from "./load.ts";

function luaString(text: string): string {
  return `"${text.replace(/[\\"]/g, "\\$&").replaceAll("\r", "\\r").replaceAll("\n", "\\n")}"`;
}

function script(load: Load): string {
  const host = new URL(load.url).host;
  return `
local wire = {${load.requests.map((request) => luaString(toWire(host, request))).join(",\n")}}
local next = 0
request = function()
  next = next % #wire + 1
  return wire[next]
end
done = function(summary, latency)
  local e = summary.errors
  io.write(string.format('\\n{"requests":%d,"micros":%d,"p50":%f,"p99":%f,"errors":%d}\\n', summary.requests,
    summary.duration, latency:percentile(50), latency:percentile(99), e.connect + e.read + e.write + e.status + e.timeout))
end
`;
}

export async function runWrk(load: Load, folder: string): Promise<LoadResult> {
  const file = `${folder}/load.lua`;
  await Bun.write(file, script(load));
  const child = Bun.spawn(
    ["wrk", "-t1", `-c${load.connections}`, `-d${load.seconds}s`, "--timeout", "10s", "-s", file, load.url],
    { stdout: "pipe", stderr: "inherit" },
  );
  const output = await new Response(child.stdout).text();
  const line = output.split("\n").find((text) => text.startsWith("{"));
  if (line === undefined) throw new Error(`wrk did not report: ${output}`);
  const result = JSON.parse(line) as { requests: number; micros: number; p50: number; p99: number; errors: number };
  return {
    requestsPerSecond: (result.requests / result.micros) * 1e6,
    p50: result.p50 / 1_000,
    p99: result.p99 / 1_000,
    errors: result.errors,
  };
}
