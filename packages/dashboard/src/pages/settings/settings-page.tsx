/** The settings in force: the service, the look of the dashboard, every key of the configuration. */
import { Page } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import { AppearancePanel } from "./appearance-panel.tsx";
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
