/** The application: theme, queries, shortcuts, pages. Dialogs and notifications come with the shell, behind the sign-in. */
import { localStorageColorSchemeManager, MantineProvider } from "@mantine/core";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { ShortcutProvider } from "../kit/shortcuts.tsx";
import { queryClient } from "../service/queries.ts";
import { router } from "./router.tsx";
import { cssVariables, theme } from "./theme.ts";

/** `public/color-scheme.js` reads the same key. */
const colorScheme = localStorageColorSchemeManager({ key: "socle.color-scheme" });

export function App() {
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

// In development: a change that reaches the application would remove the router, so the page is loaded again.
import.meta.hot?.accept(() => location.reload());
