/** Configuration of Vite: SvelteKit, built as a server for Node. */
import adapter from "@sveltejs/adapter-node";
import { sveltekit } from "@sveltejs/kit/vite";
import { defineConfig } from "vite";

// ORIGIN is the address of the pages. Without ORIGIN, the server expects HTTPS in front, and the host that the browser names.
const origin = process.env["ORIGIN"];

export default defineConfig({ plugins: [sveltekit({ adapter: adapter(), paths: { origin } })] });
