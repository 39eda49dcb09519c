// Follow the color scheme of the system while the reader has not chosen one: Debian's furo has no media query for it.
// SPDX-License-Identifier: MIT
addEventListener("DOMContentLoaded", () => {
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const follow = () => {
        const chosen = localStorage.getItem("theme") || "auto";
        const theme = chosen !== "auto" ? chosen : dark.matches ? "dark" : "light";
        if (document.body.dataset.theme !== theme) document.body.dataset.theme = theme;
    };
    follow();
    dark.addEventListener("change", follow);
    new MutationObserver(follow).observe(document.body, { attributeFilter: ["data-theme"] });
});
