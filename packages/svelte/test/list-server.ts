/** Renders the list in Node. */
import { createClient } from "@socle/client";
import { live } from "@socle/client/live";
import { render } from "svelte/server";
import { initialOf } from "../../client/src/testing/initial.ts";
import List from "./list.svelte";

const [, , baseUrl = ""] = process.argv;
const socle = createClient({ live, baseUrl });
console.log(render(List, { props: { socle, initial: initialOf("server") } }).body);
