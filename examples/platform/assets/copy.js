// Shows the buttons that copy the field before them, if the browser lets a page do so.
for (const button of navigator.clipboard ? document.querySelectorAll("button[data-copies]") : []) {
  const field = document.getElementById(button.dataset.copies);
  const said = document.getElementById("copied");
  button.hidden = false;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(field.value);
      said.textContent = `${button.dataset.name} copied.`;
    } catch {
      field.select();
      said.textContent = `The browser does not let this page copy. ${button.dataset.name} is selected: copy it with your keyboard.`;
    }
  });
}
