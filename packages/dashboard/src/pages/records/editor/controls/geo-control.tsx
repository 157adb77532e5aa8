/** The control for `geo`: the degrees as one text, as maps copy places, and a link to a map. */
import { Anchor, TextInput } from "@mantine/core";
import { useState } from "react";
import { text } from "../../../../texts/index.ts";
import { mapAddress, parsePlace, placeOf, writtenPlace } from "../places.ts";
import { type ControlProps, isCompact, typedProps } from "./control.tsx";

export function GeoControl(props: ControlProps) {
  const { value, onChange, error } = props;
  const [typed, setTyped] = useState(writtenPlace(value));
  const parsed = parsePlace(typed);
  // "52.520,13.405" and "52.52, 13.405" are one place: the typed text stays as long as the text means the value.
  const isTyped = "value" in parsed ? writtenPlace(parsed.value) === writtenPlace(value) : typed === value;
  const shown = isTyped ? typed : writtenPlace(value);
  const place = placeOf(value);
  const problem = "problem" in parsePlace(shown) ? text.editor.problems.notAPlace : undefined;
  const change = (next: string): void => {
    setTyped(next);
    const read = parsePlace(next);
    onChange("value" in read ? read.value : next);
  };
  return (
    <TextInput
      {...typedProps({ ...props, error: error ?? problem })}
      autoComplete="off"
      className="numbers"
      value={shown}
      onChange={(event) => change(event.currentTarget.value)}
      description={
        place === null || isCompact(props) ? null : (
          <Anchor href={mapAddress(place)} target="_blank" rel="noreferrer" size="xs">
            {text.editor.openMap}
          </Anchor>
        )
      }
    />
  );
}
