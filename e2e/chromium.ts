/**
 * A real browser for tests and benchmarks: Chromium from the npm package @sparticuz/chromium, which npm installs with the other
 * packages and which brings the libraries. On machines other than 64-bit Linux, or with CHROMIUM set, another browser.
 */
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliDecompressSync } from "node:zlib";
import { type Browser, chromium, type LaunchOptions } from "playwright-core";
import { root } from "../scripts/run.ts";

const unpacked = join(root, "dist", "chromium");

function packed(name: string): Buffer {
  const folder = join(dirname(fileURLToPath(import.meta.resolve("@sparticuz/chromium"))), "..", "..", "bin");
  return brotliDecompressSync(readFileSync(join(folder, name)));
}

/** Unpacks the browser the first time; the program is renamed into place last, so that an existing program is complete. */
async function unpack(): Promise<string> {
  const program = join(unpacked, "chromium");
  if (existsSync(program)) return program;
  mkdirSync(unpacked, { recursive: true });
  await new Bun.Archive(packed("al2023.tar.br")).extract(unpacked);
  await new Bun.Archive(packed("fonts.tar.br")).extract(unpacked);
  const partial = `${program}.${process.pid}`;
  writeFileSync(partial, packed("chromium.br"));
  chmodSync(partial, 0o755);
  renameSync(partial, program);
  return program;
}

async function launchOptions(): Promise<LaunchOptions> {
  const args = ["--no-sandbox", "--disable-gpu"];
  const given = process.env["CHROMIUM"];
  if (given !== undefined) return { args, executablePath: given };
  // Other machines need Google Chrome; Playwright reports a missing Chrome.
  if (process.platform !== "linux" || process.arch !== "x64") return { args, channel: "chrome" };
  const env = {
    PATH: process.env["PATH"] ?? "",
    HOME: unpacked,
    LD_LIBRARY_PATH: join(unpacked, "lib"),
    FONTCONFIG_PATH: join(unpacked, "fonts"),
  };
  return { args, executablePath: await unpack(), env };
}

/** Starts a browser. A browser that crashes before its first page, about once in some thousand starts, is started again: no test has begun. */
export async function launchBrowser(): Promise<Browser> {
  const options = await launchOptions();
  return chromium.launch(options).catch((error: unknown) => {
    if (!/signal=SIG(SEGV|TRAP|ILL|BUS)/.test(String(error))) throw error;
    console.warn("The browser crashed at its start, and is started again.");
    return chromium.launch(options);
  });
}
