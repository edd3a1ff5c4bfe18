package httpapi

import (
	"animalstore/api"
	"animalstore/internal/shop"
)

func (a *API) getOpenapiJSON(c *call) error {
	body := a.document.JSON(a.servers(c))
	c.sendTagged("no-cache", "application/json", entityTag(body), body)
	return nil
}

func (a *API) getOpenapiYAML(c *call) error {
	body := a.document.YAML(a.servers(c))
	c.sendTagged("no-cache", "application/yaml", entityTag(body), body)
	return nil
}

// servers are where this deployment is reached, and its staging deployment where there is one.
func (a *API) servers(c *call) []api.Server {
	own := api.Server{URL: a.base(c.r), Description: "Production"}
	if a.Service.Environment() == shop.Staging {
		own.Description = "Staging"
	}
	if a.StagingURL == "" || a.StagingURL == own.URL {
		return []api.Server{own}
	}
	return []api.Server{own, {URL: a.StagingURL, Description: "Staging"}}
}
