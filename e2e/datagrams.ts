/** The receiving end of the notify protocol: a datagram socket, as of a service manager. Linux only. */
import { dlopen, ptr } from "bun:ffi";
import { afterAll } from "bun:test";
import { join } from "node:path";
import { temporaryFolder } from "./kit.ts";

const unix = 1;
const datagram = 2;
const withoutWaiting = 0x40;

/** A socket in a separate folder, or by a name of Linux without a file (`@…`). */
export function receiver(name?: string): { path: string; received(): string[] } {
  const { symbols } = dlopen("libc.so.6", {
    socket: { args: ["i32", "i32", "i32"], returns: "i32" },
    bind: { args: ["i32", "ptr", "u32"], returns: "i32" },
    recv: { args: ["i32", "ptr", "usize", "i32"], returns: "i64" },
    close: { args: ["i32"], returns: "i32" },
  });
  const path = name ?? join(temporaryFolder(), "notify");
  const address = Buffer.concat([
    Buffer.from([unix, 0]),
    Buffer.from(path.startsWith("@") ? `\0${path.slice(1)}` : `${path}\0`),
  ]);
  const descriptor = symbols.socket(unix, datagram, 0);
  if (symbols.bind(descriptor, ptr(address), address.length) !== 0) throw new Error(`${path} cannot be bound`);
  afterAll(() => void symbols.close(descriptor));
  const messages: string[] = [];
  const buffer = Buffer.alloc(4_096);
  return {
    path,
    /** All messages so far. */
    received() {
      for (;;) {
        const length = Number(symbols.recv(descriptor, ptr(buffer), buffer.length, withoutWaiting));
        if (length < 0) return messages;
        messages.push(buffer.toString("utf8", 0, length));
      }
    },
  };
}
