/** jaxscope's mark: a flash between brackets. Its colors are JupyterLab's. */

export const ICON = {
  name: "jaxscope:icon",
  svgstr: `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 22 22" width="16">
  <g class="jp-icon3" fill="none" stroke="#616161" stroke-width="1.9"
    stroke-linecap="round" stroke-linejoin="round">
    <path d="M5.5 4.5 1.5 11l4 6.5M16.5 4.5l4 6.5-4 6.5"/>
    <path class="jp-icon3" fill="#616161" stroke="none" d="M12.3 3.5 7.6 12h3l-1.1 6.5 5-8.7h-3.2z"/>
  </g></svg>`,
};
