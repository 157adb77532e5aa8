/** The look of the dashboard in this browser. */
import { SegmentedControl, useMantineColorScheme } from "@mantine/core";
import { choicesOf, Dim, Panel } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";

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
