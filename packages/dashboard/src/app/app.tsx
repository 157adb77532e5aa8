/** The application: theme, queries, dialogs, notifications, pages. */
import { localStorageColorSchemeManager, MantineProvider } from "@mantine/core";
import { ModalsProvider } from "@mantine/modals";
import { Notifications } from "@mantine/notifications";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { ShortcutProvider } from "../kit/shortcuts.tsx";
import { queryClient } from "../service/queries.ts";
import { text } from "../texts/index.ts";
import { router } from "./router.tsx";
import { cssVariables, theme } from "./theme.ts";

/** The same key as `public/color-scheme.js` reads. */
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
        <ModalsProvider labels={{ confirm: text.common.confirm, cancel: text.common.cancel }}>
          <ShortcutProvider>
            <RouterProvider router={router} />
          </ShortcutProvider>
          <Notifications position="bottom-right" limit={4} />
        </ModalsProvider>
      </QueryClientProvider>
    </MantineProvider>
  );
}
