/**
 * Becomes the traced command: stops until the tracer has attached, installs the filter with the first argument
 * as program (base64), and executes the rest. The environment is handed on untouched.
 */
import { ptr } from "bun:ffi";
import { libc } from "./libc.ts";

const setNoNewPrivileges = 38;
const setSeccomp = 22;
const filterMode = 2;

const [program = "", command = "", ...rest] = process.argv.slice(2);
process.kill(process.pid, "SIGSTOP");

const filter = new Uint8Array(Buffer.from(program, "base64"));
const description = new BigUint64Array([BigInt(filter.byteLength / 8), BigInt(ptr(filter))]);
if (libc.prctl(setNoNewPrivileges, 1, 0, 0, 0) !== 0) throw new Error("PR_SET_NO_NEW_PRIVS was refused");
if (libc.prctl(setSeccomp, filterMode, ptr(description), 0, 0) !== 0) throw new Error("PR_SET_SECCOMP was refused");

const texts = [command, ...rest].map((text) => Buffer.from(`${text}\0`));
const list = new BigUint64Array([...texts.map((text) => BigInt(ptr(text))), 0n]);
libc.execvp(ptr(texts[0] ?? Buffer.alloc(1)), ptr(list));
console.error(`${command} cannot be executed`);
process.exit(127);
