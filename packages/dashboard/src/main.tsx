/** The entry of the dashboard: styles, then the application. Dialogs and notifications come with the shell, behind the sign-in. */
import "@fontsource-variable/inter/wght.css";
import "@fontsource-variable/jetbrains-mono/wght.css";
import "@mantine/core/styles.css";
import "./app/global.css";
import { localStorageColorSchemeManager, MantineProvider } from "@mantine/core";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { createRoot } from "react-dom/client";
import { router } from "./app/router.tsx";
import { cssVariables, theme } from "./app/theme.ts";
import { ShortcutProvider } from "./kit/shortcuts.tsx";
import { queryClient } from "./service/queries.ts";

/** `public/color-scheme.js` reads the same key. */
const colorScheme = localStorageColorSchemeManager({ key: "socle.color-scheme" });

function App() {
  return (
    <MantineProvider
      theme={theme}
      cssVariablesResolver={cssVariables}
      colorSchemeManager={colorScheme}
      defaultColorScheme="auto"
    >
      <QueryClientProvider client={queryClient}>
        <ShortcutProvider>
          <RouterProvider router={router} />
        </ShortcutProvider>
      </QueryClientProvider>
    </MantineProvider>
  );
}

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

// The frame of index.html stays until the first page is ready. No `await` at the top: the pages import this file's bundle, and would wait for its end.
void Promise.all([applyStyles(), router.load().catch(() => undefined)]).then(() => createRoot(root).render(<App />));

// In development: a change that reaches the application would remove the router, so the page is loaded again.
import.meta.hot?.accept(() => location.reload());
