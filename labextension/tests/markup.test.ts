// @vitest-environment happy-dom
import { expect, test, vi } from "vitest";
import { markupNodes } from "../src/markup";

function drawn(markup: string, lead = vi.fn()): HTMLElement {
  const element = document.createElement("div");
  element.append(markupNodes(markup, lead));
  return element;
}

test("tables, lists and pictures arrive as they were set", () => {
  const element = drawn(
    '<table class="facts"><thead><tr><th scope=col align=right>ms</th></tr></thead><tbody><tr>' +
      "<td colspan=2>1 &lt; 2</td></tr></tbody></table><ol class=findings><li><code>x</code></li></ol>" +
      '<svg viewBox="0 0 10 5" role="img" aria-label="a bar"><title>words</title>' +
      '<rect class="p1" x="1" width="3" height="2"/></svg>',
  );
  expect(element.querySelector("td")?.textContent).toBe("1 < 2");
  expect(element.querySelector("td")?.getAttribute("colspan")).toBe("2");
  expect(element.querySelector("th")?.getAttribute("align")).toBe("right");
  expect(element.querySelector("ol.findings code")?.textContent).toBe("x");
  const picture = element.querySelector("svg");
  expect(picture?.getAttribute("viewBox")).toBe("0 0 10 5");
  expect(picture?.namespaceURI).toBe("http://www.w3.org/2000/svg");
  expect(picture?.querySelector("rect")?.getAttribute("class")).toBe("p1");
});

test("a link to a line becomes a button that leads there", () => {
  const lead = vi.fn();
  const element = drawn('<a class="place" href="#" data-source="1" data-line="7">line 7</a>', lead);
  const button = element.querySelector("button");
  expect(button?.textContent).toBe("line 7");
  expect(button?.className).toBe("place jxs-link");
  button?.click();
  expect(lead.mock.calls).toEqual([[1, 7]]);
});

test("a link to anywhere else is plain text", () => {
  const element = drawn(
    '<a href="https://example.org">out</a><a data-line="1e9">a</a><a data-line="-1">b</a>' +
      '<a href="javascript:alert(1)" data-source="x" data-line="3">c</a>',
  );
  expect(element.querySelectorAll("a, button")).toHaveLength(0);
  expect(element.textContent).toBe("outabc");
});

const HOSTILE = [
  "<script>window.hit = 1</script>",
  "<img src=x onerror='window.hit = 1'>",
  "<svg><script>window.hit = 1</script></svg>",
  "<svg onload='window.hit = 1'><animate onbegin='window.hit = 1'/></svg>",
  "<svg><use href='data:image/svg+xml,x#a'/><image href='http://x/'/></svg>",
  "<svg><foreignObject><iframe src='http://x/'></iframe></foreignObject></svg>",
  "<svg><a href='javascript:window.hit=1'><text>t</text></a></svg>",
  "<math><mtext><img src=x onerror='window.hit=1'></mtext></math>",
  "<iframe srcdoc='<script>parent.hit=1</script>'></iframe>",
  "<object data='x'></object><embed src='x'>",
  "<form action='http://x/'><button formaction='http://x/'>go</button></form>",
  "<style>body { display: none }</style><link rel=prefetch>",
  "<base href='http://x/'><meta http-equiv=refresh content='0;url=http://x/'>",
  "<p style='position:fixed;inset:0' onclick='window.hit=1' id='jp-main' tabindex=1>p</p>",
  "<svg><rect fill='url(http://x/)' style='fill:red' href='x' xlink:href='x'/></svg>",
  "<template><script>window.hit=1</script></template><noscript><img src=x></noscript>",
  "<input autofocus onfocus='window.hit=1'><video src=x onerror='window.hit=1'></video>",
];

test.each(HOSTILE)("nothing of this runs, loads or dresses itself: %s", (markup) => {
  const element = drawn(markup);
  const forbidden =
    "script, img, iframe, object, embed, form, input, style, link, base, meta, use, image, a, " +
    "foreignObject, animate, template, video, math, button";
  expect(element.querySelectorAll(forbidden)).toHaveLength(0);
  for (const node of element.querySelectorAll("*")) {
    for (const { name, value } of Array.from(node.attributes)) {
      expect(name).not.toMatch(/^on|^style$|^id$|href|src|tabindex|action/);
      expect(value).not.toMatch(/url\(|javascript:/);
    }
  }
  expect("hit" in window).toBe(false);
});

test("classes of the places around it are not taken", () => {
  const element = drawn('<p class="jp-Button jxs-link lm-Widget muted">p</p>');
  expect(element.querySelector("p")?.className).toBe("muted");
});

test("markup that is nested without end is cut", () => {
  const element = drawn(`${"<div>".repeat(5000)}deep${"</div>".repeat(5000)}`);
  expect(element.querySelectorAll("div").length).toBeLessThan(260);
});
