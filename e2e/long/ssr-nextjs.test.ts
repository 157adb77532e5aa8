/** The example for Next.js: pages with a server, as docs/ssr.md describes the example. */
import { testPages } from "../ssr-suite.ts";

await testPages("nextjs");
