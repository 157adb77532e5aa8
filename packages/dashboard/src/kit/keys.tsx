/** The keys of a shortcut, as drawn on a keyboard. */
import { Group, Kbd } from "@mantine/core";
import { keyNames } from "./shortcuts.tsx";

export function Keys({ keys, size = "xs" }: { keys: string; size?: "xs" | "sm" }) {
  return (
    <Group component="span" gap={size === "xs" ? 2 : 4} wrap="nowrap">
      {keyNames(keys).map((key) => (
        <Kbd key={key} size={size}>
          {key}
        </Kbd>
      ))}
    </Group>
  );
}
