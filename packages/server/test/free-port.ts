/**
 * A free port for a process of a test that listens again on the same port later. The port is below the ports that Linux and macOS give to connections
 * and to listeners without a port of their own (from 32,768): such a port could be taken while the process of the test is stopped.
 */
import { createServer } from "node:net";

const [first, end] = [20_000, 32_000];
/** Processes of tests that run side by side begin at different ports. */
let next = first + ((process.pid * 97) % (end - first));

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen({ host: "127.0.0.1", port }, () => server.close(() => resolve(true)));
  });
}

/** No port is answered twice in a process before all ports were. */
export async function freePort(): Promise<number> {
  for (let tries = first; tries < end; tries++) {
    const port = next;
    next = next + 1 < end ? next + 1 : first;
    if (await isFree(port)) return port;
  }
  throw new Error(`No port from ${first} to ${end} is free`);
}
