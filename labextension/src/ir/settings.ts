/** Display settings of one viewer; not saved. */

export interface Settings {
  colors: boolean;
  wrap: boolean;
  metadata: boolean;
  layouts: boolean;
}

export const FIRST: Readonly<Settings> = {
  colors: true,
  wrap: false,
  metadata: false,
  layouts: true,
};

/** The hidden parts of the texts. */
export function hidden(settings: Settings): ReadonlySet<"metadata" | "layouts"> {
  const found = new Set<"metadata" | "layouts">();
  if (!settings.metadata) found.add("metadata");
  if (!settings.layouts) found.add("layouts");
  return found;
}
