/** The template for Next.js: pages with a server, as docs/ssr.md describes the files. */
import { testPages } from "../ssr-suite.ts";

await testPages("next");
