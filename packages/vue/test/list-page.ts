/** Goes on with the list in a page. */
import { createClient } from "@socle/client";
import { live } from "@socle/client/live";
import { createSSRApp } from "vue";
import { initialOf } from "../../client/src/testing/initial.ts";
import { appOf } from "./list.ts";

createSSRApp(appOf(createClient({ live, worker: false, retries: 0 }), initialOf("server"))).mount("main");
