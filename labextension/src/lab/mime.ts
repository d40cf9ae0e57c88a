/** The MIME renderer: the report in a notebook's output, and `.jaxscope.json` as a document. */

import type { IRenderMime } from "@jupyterlab/rendermime-interfaces";
import { MIME } from "../schema/report";
import { ICON } from "./icon";
import { ReportRenderer } from "./renderer";

const FILE_TYPE = "jaxscope-report";
const NAME = "jaxscope report";

const extension: IRenderMime.IExtension = {
  id: "@jaxscope/lab:report",
  description: "Shows reports of jaxscope, in outputs and as documents.",
  rendererFactory: {
    // It runs no code of the output, and filters its markup by an allow-list.
    safe: true,
    mimeTypes: [MIME],
    createRenderer: (options) => new ReportRenderer(options),
  },
  // Below the -10 of ipywidgets, whose renderer waits forever for a model that a saved notebook lacks.
  rank: -20,
  // As text, so that a damaged file gets our sentence instead of JupyterLab's dialog.
  dataType: "string",
  fileTypes: [
    {
      name: FILE_TYPE,
      displayName: NAME,
      mimeTypes: [MIME],
      extensions: [".jaxscope.json"],
      fileFormat: "text",
      icon: ICON,
    },
  ],
  documentWidgetFactoryOptions: {
    name: NAME,
    primaryFileType: FILE_TYPE,
    fileTypes: [FILE_TYPE],
    defaultFor: [FILE_TYPE],
  },
};

export default extension;
