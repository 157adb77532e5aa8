/** Renders the list in Node. */
import { createClient } from "@socle/client";
import { live } from "@socle/client/live";
import { createElement as h } from "react";
import { renderToString } from "react-dom/server";
import { initialOf } from "../../client/src/testing/initial.ts";
import { App } from "./list.ts";

const [, , baseUrl = ""] = process.argv;
const socle = createClient({ live, baseUrl });
console.log(renderToString(h(App, { socle, initial: initialOf("server"), isPage: false })));
