/** The look of the dashboard: colours, type, radii. Every text on every ground has a contrast of at least 4.5 (WCAG 2.2, 1.4.3). */
import { type CSSVariablesResolver, createTheme, type MantineColorsTuple, type MantineTheme } from "@mantine/core";
import { text } from "../texts/first.ts";

/** Verdigris: the accent. */
const verdigris: MantineColorsTuple = [
  "#effaf8",
  "#d9f2ee",
  "#b0e4dc",
  "#7fd2c7",
  "#4fbbae",
  "#2a9d90",
  "#14837a",
  "#0f6f68",
  "#0d5a55",
  "#0a4642",
];

/** Neutral greys of the dark scheme, from text to ground. */
const dark: MantineColorsTuple = [
  "#e3e6ea",
  "#c3c8cf",
  "#a0a7b1",
  "#6f7782",
  "#3d434c",
  "#2e333b",
  "#23272e",
  "#1a1d22",
  "#14161a",
  "#0e1013",
];

/** The arrow keys of the field scroll the list of options. A scroll box around the list would need a focus of its own. */
const scrolledByField = {
  defaultProps: { withScrollArea: false },
  styles: { options: { maxHeight: 220, overflowY: "auto" } },
} as const;

export const theme = createTheme({
  colors: { verdigris, dark },
  primaryColor: "verdigris",
  primaryShade: { light: 7, dark: 7 },
  fontFamily: '"Inter Variable", system-ui, -apple-system, "Segoe UI", sans-serif',
  fontFamilyMonospace: '"JetBrains Mono Variable", ui-monospace, SFMono-Regular, Menlo, monospace',
  headings: { fontWeight: "650" },
  defaultRadius: "md",
  cursorType: "pointer",
  respectReducedMotion: true,
  components: {
    // The theme names the components as text: an import would put the components into the first chunk.
    Tooltip: { defaultProps: { openDelay: 400, withArrow: true } },
    Notification: { defaultProps: { closeButtonProps: { "aria-label": text.common.close } } },
    Drawer: { defaultProps: { attributes: { header: { role: "presentation" } } } },
    Select: scrolledByField,
    MultiSelect: scrolledByField,
    TagsInput: scrolledByField,
    SegmentedControl: {
      // Small controls keep the same space beside their words as the other sizes.
      vars: (_: MantineTheme, { size }: { size?: unknown }) => ({
        root: size === "xs" ? { "--sc-padding": "2px 10px" } : {},
      }),
    },
    Button: {
      // Small buttons have the same text size, compact or not.
      vars: (_: MantineTheme, { size }: { size?: unknown }) => ({
        root: size === "compact-sm" ? { "--button-fz": "var(--mantine-font-size-xs)" } : {},
      }),
    },
    Modal: {
      defaultProps: {
        centered: true,
        overlayProps: { backgroundOpacity: 0.4 },
        closeButtonProps: { "aria-label": text.common.close },
        // The page has a single `header`; for screen readers, the header of a dialog is no `header`.
        attributes: { header: { role: "presentation" } },
      },
      styles: { title: { fontWeight: 650 } },
    },
  },
});

export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    "--mantine-color-text": "#1b1f24",
    "--mantine-color-body": "#ffffff",
    "--mantine-color-dimmed": "#5b6470",
    "--mantine-color-placeholder": "#6b7480",
    "--mantine-color-error": "#c92a2a",
    "--socle-ground": "#f7f8f9",
    "--socle-line": "#e3e6ea",
    "--socle-hover": "#f1f3f5",
    "--socle-chip": "#e4e8ec",
    "--socle-selected": "#e6f5f2",
    "--socle-accent-text": "#0f6f68",
    "--mantine-color-anchor": "#0f6f68",
    // Borders of controls: at least 3:1 on every ground (WCAG 2.2, 1.4.11).
    "--socle-control": "#868e99",
  },
  dark: {
    "--mantine-color-body": "#1a1d22",
    "--mantine-color-dimmed": "#a0a7b1",
    "--mantine-color-placeholder": "#8b929c",
    "--mantine-color-error": "#ff8787",
    "--socle-ground": "#14161a",
    "--socle-line": "#2e333b",
    "--socle-hover": "#23272e",
    "--socle-chip": "#30363f",
    "--socle-selected": "#163330",
    "--socle-accent-text": "#7fd2c7",
    "--mantine-color-verdigris-light": "#163330",
    "--mantine-color-verdigris-light-hover": "#1c403c",
    "--mantine-color-verdigris-light-color": "#7fd2c7",
    "--mantine-color-anchor": "#7fd2c7",
    "--socle-control": "#6f7782",
  },
});
