/** The example for Astro: pages with a server, as docs/ssr.md describes the example. */
import { testPages } from "../ssr-suite.ts";

await testPages("astro");
