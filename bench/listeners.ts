/** The process that listens and writes, seen from the benchmark. */
import { join } from "node:path";
import type { ListenerCommand, ListenerResult } from "./load/load.ts";

export interface Listeners {
  tell(command: ListenerCommand): Promise<ListenerResult>;
  stop(): Promise<void>;
}

export function startListeners(): Listeners {
  const script = join(import.meta.dir, "load", "listeners.ts");
  const child = Bun.spawn([process.execPath, script], { stdin: "pipe", stdout: "pipe", stderr: "inherit" });
  const reader = child.stdout.getReader();
  const decoder = new TextDecoder();
  let text = "";
  return {
    async tell(command) {
      child.stdin.write(`${JSON.stringify(command)}\n`);
      await child.stdin.flush();
      while (!text.includes("\n")) {
        const { value, done } = await reader.read();
        if (done) throw new Error("The listeners have ended");
        text += decoder.decode(value, { stream: true });
      }
      const [line = "", ...rest] = text.split("\n");
      text = rest.join("\n");
      return JSON.parse(line) as ListenerResult;
    },
    async stop() {
      child.kill();
      await child.exited;
    },
  };
}
