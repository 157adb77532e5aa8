/** The template for SvelteKit: pages with a server, as docs/ssr.md describes the files. */
import { testPages } from "../ssr-suite.ts";

await testPages("sveltekit");
