/** What the user has switched on: `schema/plugin.json` has the words. */

import type { ISettingRegistry } from "@jupyterlab/settingregistry";

export interface Choices {
  panel: boolean;
  badges: boolean;
  languages: boolean;
  viewer: boolean;
}

/** Calls back with the choices now and after each change. Without settings everything is on. */
export async function chosen(
  registry: ISettingRegistry | null,
  plugin: string,
  apply: (choices: Choices) => void,
): Promise<void> {
  const everything = { panel: true, badges: true, languages: true, viewer: true };
  if (!registry) return apply(everything);
  try {
    const settings = await registry.load(plugin);
    const read = () => {
      const on = (key: keyof Choices) => settings.get(key).composite !== false;
      apply({
        panel: on("panel"),
        badges: on("badges"),
        languages: on("languages"),
        viewer: on("viewer"),
      });
    };
    settings.changed.connect(read);
    read();
  } catch (error) {
    // The schema of another version, say: the features do not depend on it.
    console.warn(`jaxscope's settings could not be read: ${error}`);
    apply(everything);
  }
}
