/** Test pages of the bindings: the scripts for a browser and for Node, with the components of Svelte compiled. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { BunPlugin } from "bun";
import { compile } from "svelte/compiler";
import { root } from "./kit.ts";

function svelteFor(generate: "client" | "server"): BunPlugin {
  return {
    name: "svelte",
    setup(build) {
      build.onLoad({ filter: /\.svelte$/ }, async ({ path }) => {
        const { js } = compile(await readFile(path, "utf8"), { filename: path, generate, css: "injected" });
        return { contents: js.code, loader: "js" };
      });
    },
  };
}

/** The script of a page, or of a program that renders a page, from `test/` of a binding. */
export async function scriptOf(
  framework: string,
  file: string,
  target: "browser" | "node" = "browser",
): Promise<string> {
  const isPage = target === "browser";
  const { outputs } = await Bun.build({
    entrypoints: [join(root, "packages", framework, "test", file)],
    target,
    conditions: isPage ? ["browser"] : [],
    define: {
      "process.env.NODE_ENV": '"development"',
      __VUE_OPTIONS_API__: "false",
      __VUE_PROD_DEVTOOLS__: "false",
      __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: "true",
    },
    plugins: [svelteFor(isPage ? "client" : "server")],
  });
  return (await outputs[0]?.text()) ?? "";
}
