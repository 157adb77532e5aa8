/** Renders the list in Node. */
import { createClient } from "@socle/client";
import { live } from "@socle/client/live";
import { createSSRApp } from "vue";
import { renderToString } from "vue/server-renderer";
import { initialOf } from "../../client/src/testing/initial.ts";
import { appOf } from "./list.ts";

const [, , baseUrl = ""] = process.argv;
const socle = createClient({ live, baseUrl });
console.log(await renderToString(createSSRApp(appOf(socle, initialOf("server")))));
