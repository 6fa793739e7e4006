"""The frame of the web app: what a page is, rendering, forms, assets, policy."""
