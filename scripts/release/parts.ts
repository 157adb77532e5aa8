/** The parts of an executable: the list in the form of CycloneDX (ECMA-424), and the text of each licence. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Enums, Models, Serialize, Spec } from "@cyclonedx/cyclonedx-library";
import packageJson from "../../package.json" with { type: "json" };
import { partsOfExecutable } from "../dependencies.ts";
import { root } from "../run.ts";

interface Part {
  readonly name: string;
  readonly version: string;
  readonly licence: string;
  /** The package URL: `pkg:npm/jose@6.2.17`. */
  readonly purl: string;
}

function componentOf({ name, version, licence, purl }: Part): Models.Component {
  const [group, own] = name.startsWith("@") ? name.split("/") : [undefined, name];
  const component = new Models.Component(Enums.ComponentType.Library, own ?? name, { version, purl, bomRef: purl });
  if (group !== undefined) component.group = group;
  const isOne = /^[\w.-]+$/.test(licence);
  component.licenses.add(isOne ? new Models.SpdxLicense(licence) : new Models.LicenseExpression(licence));
  return component;
}

/** The list of parts of the executable. @param changedAt the time of the list, in milliseconds. */
export function partsList(version: string, changedAt: number): string {
  const bom = new Models.Bom();
  const socle = new Models.Component(Enums.ComponentType.Application, "socle", { version, bomRef: `socle@${version}` });
  socle.licenses.add(new Models.SpdxLicense(packageJson.license));
  bom.metadata.component = socle;
  bom.metadata.timestamp = new Date(changedAt);
  const bun = packageJson.dependencies.bun;
  const runtime: Part = { name: "bun", version: bun, licence: "MIT", purl: `pkg:npm/bun@${bun}` };
  const npm = partsOfExecutable().map(({ name, version: own, licence }) => ({
    name,
    version: own,
    licence,
    purl: `pkg:npm/${name.replace("@", "%40")}@${own}`,
  }));
  for (const part of [runtime, ...npm]) {
    const component = componentOf(part);
    bom.components.add(component);
    socle.dependencies.add(component.bomRef);
  }
  const factory = new Serialize.JSON.Normalize.Factory(Spec.Spec1dot6);
  return `${new Serialize.JsonSerializer(factory).serialize(bom, { sortLists: true, space: 2 })}\n`;
}

/** The licence of Socle, then the licence of each npm package in the executable, as the package has it. */
export function licenceTexts(): string {
  const texts = partsOfExecutable().map(({ path, name, version, licence }) => {
    const file = readdirSync(join(root, path)).find((each) => /^(licen[cs]e|copying)/i.test(each));
    const text =
      file === undefined ? `The package has no text of its licence.` : readFileSync(join(root, path, file), "utf8");
    return `${name} ${version}: ${licence}\n\n${text.trim()}`;
  });
  const own = `Socle\n\n${readFileSync(join(root, "LICENSE"), "utf8").trim()}`;
  const runtime = `bun ${packageJson.dependencies.bun}: MIT, linked with JavaScriptCore (LGPL-2.1) and other libraries, which Bun's page of licences lists: https://bun.com/docs/project/licensing`;
  return `${[own, runtime, ...texts].join(`\n\n${"-".repeat(80)}\n\n`)}\n`;
}
