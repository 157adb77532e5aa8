/** The control for `geo`: the degrees as one text, as maps copy places; in a form also a map, and a link to a map with streets. */
import { Anchor, TextInput } from "@mantine/core";
import { Suspense, useMemo, useState } from "react";
import { WorldMap } from "../../../../kit/map/index.ts";
import { text } from "../../../../texts/index.ts";
import { mapAddress, parsePlace, placeOf, writtenPlace } from "../places.ts";
import { type ControlProps, isCompact, typedProps } from "./control.tsx";
import classes from "./controls.module.css";

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
  const { lat, lon } = place ?? {};
  const points = useMemo(() => (lat === undefined || lon === undefined ? [] : [{ id: "", lat, lon }]), [lat, lon]);
  const input = (
    <TextInput
      {...typedProps({ ...props, error: problem ?? error })}
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
  if (isCompact(props)) return input;
  return (
    <>
      {input}
      <div className={classes["map"]}>
        <Suspense>
          <WorldMap
            label={text.editor.mapOf(props.field.name)}
            points={points}
            nameOf={() => shown}
            onChoose={(chosen) => change(writtenPlace({ ...chosen }))}
          />
        </Suspense>
      </div>
    </>
  );
}
