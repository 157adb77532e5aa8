/** The entry of the dashboard: styles, then the application. */
import "@fontsource-variable/inter/wght.css";
import "@fontsource-variable/jetbrains-mono/wght.css";
import "@mantine/core/styles.css";
import "./app/global.css";
import { createRoot } from "react-dom/client";
import { App } from "./app/app.tsx";
import { router } from "./app/router.tsx";

const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no element #root");
/** Applies the styles that `index.html` has begun to load; in development the styles are in the page already. */
function applyStyles(): Promise<unknown> {
  const links = document.querySelectorAll<HTMLLinkElement>('link[rel="preload"][as="style"]');
  const apply = (link: HTMLLinkElement): Promise<unknown> =>
    new Promise((resolve) => {
      link.onload = resolve;
      link.onerror = resolve;
      link.rel = "stylesheet";
    });
  return Promise.all([...links].map(apply));
}

// The frame of index.html stays until the first page is ready.
await Promise.all([applyStyles(), router.load().catch(() => undefined)]);
createRoot(root).render(<App />);
