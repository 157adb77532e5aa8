/** The settings in force: the service, the look of the dashboard, every key of the configuration. */

import { SegmentedControl, useMantineColorScheme } from "@mantine/core";
import { choicesOf, Dim, Page, Panel } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import { ConfigPanel } from "./config-panel.tsx";
import { ServicePanel } from "./service-panel.tsx";
import classes from "./settings.module.css";

export function SettingsPage() {
  return (
    <Page title={text.settings.title}>
      <div className={classes["top"]}>
        <ServicePanel />
        <AppearancePanel />
      </div>
      <ConfigPanel />
    </Page>
  );
}

export function AppearancePanel() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <Panel title={text.settings.appearance} pb="md">
      <Dim size="sm" px="md" pt={4} pb={6}>
        {text.settings.theme}
      </Dim>
      <SegmentedControl
        mx="md"
        size="sm"
        aria-label={text.settings.theme}
        data={choicesOf(text.shell.themes)}
        value={colorScheme}
        onChange={setColorScheme}
      />
    </Panel>
  );
}
