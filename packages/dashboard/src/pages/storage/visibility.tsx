/** The visibility of a file: as a mark in a list, and as a control. */
import { SegmentedControl } from "@mantine/core";
import type { Visibility } from "@socle/protocol";
import { IconFileText, IconLock, IconWorld } from "../../icons/index.ts";
import { choicesOf, Mark } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";

const icons = { public: IconWorld, record: IconFileText, protected: IconLock };

export function VisibilityMark({ visibility }: { visibility: Visibility }) {
  return (
    <Mark tone={visibility === "public" ? "warn" : "quiet"} icon={icons[visibility]}>
      {text.storage.visibilities[visibility]}
    </Mark>
  );
}

interface VisibilityChoiceProps {
  /** The accessible name. */
  label: string;
  value: Visibility;
  disabled?: boolean;
  onChange: (visibility: Visibility) => void;
}

export function VisibilityChoice({ label, ...choice }: VisibilityChoiceProps) {
  return <SegmentedControl size="xs" aria-label={label} data={choicesOf(text.storage.visibilities)} {...choice} />;
}
