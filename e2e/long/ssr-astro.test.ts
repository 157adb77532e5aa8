/** The template for Astro: pages with a server, as docs/ssr.md describes the files. */
import { testPages } from "../ssr-suite.ts";

await testPages("astro");
